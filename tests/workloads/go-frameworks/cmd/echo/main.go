// SPDX-License-Identifier: Apache-2.0

// A shop on echo: handlers are methods of one type a resource, in a package of their own.
package main

import (
	"io"
	"log"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"example.org/shop/cmd/echo/handlers"
	"example.org/shop/internal/app"
)

// tenant puts the customer's name into the context, as services for more than one customer do.
func tenant(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set("tenant", c.Request().Host)
		return next(c)
	}
}

func main() {
	orders := handlers.NewOrders(app.Keep("POST /orders"), app.Keep("POST /orders/:id/invoice"))
	content := handlers.NewContent(app.Keep("POST /reviews"), app.Keep("GET /reports/:month"))
	sessions := handlers.NewAccounts(app.Keep("POST /login"))
	notify := handlers.Notify(app.Keep("POST /notifications"))

	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Use(middleware.LoggerWithConfig(middleware.LoggerConfig{Output: io.Discard}))
	e.Use(middleware.Recover())
	e.Use(tenant)
	e.POST("/login", sessions.Login)
	g := e.Group("", middleware.KeyAuth(func(key string, _ echo.Context) (bool, error) {
		return app.Authorized("Bearer " + key), nil
	}))
	g.POST("/orders", orders.Create)
	g.POST("/orders/:id/invoice", orders.Invoice)
	g.POST("/reviews", content.Review)
	g.POST("/notifications", notify)
	g.GET("/reports/:month", content.Report)
	e.Listener, _ = app.Listen()
	go func() { log.Fatal(e.StartServer(&http.Server{})) }()
	app.Run(e.Listener.Addr().String(), []app.Call{
		{Endpoint: "POST /orders", Body: app.OrderBody(), Names: []any{orders.Create}},
		{Endpoint: "POST /orders/:id/invoice", Path: "/orders/%d/invoice", Body: app.OrderBody(), Names: []any{orders.Invoice}},
		{Endpoint: "POST /login", Body: app.LoginBody(), Names: []any{sessions.Login}},
		{Endpoint: "POST /reviews", Body: app.TextBody(), Names: []any{content.Review}},
		{Endpoint: "POST /notifications", Body: app.EventsBody(), Names: []any{notify}},
		{Endpoint: "GET /reports/:month", Path: "/reports/%d", Names: []any{content.Report}},
	})
}
