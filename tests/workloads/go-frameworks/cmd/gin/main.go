// SPDX-License-Identifier: Apache-2.0

// A shop on gin: handlers are plain functions and closures over what they need, groups with middlewares.
package main

import (
	"io"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"example.org/shop/internal/app"
	"example.org/shop/internal/report"
	"example.org/shop/internal/search"
	"example.org/shop/internal/store"
)

var (
	baskets *store.History[*store.Order]
	known   *store.Table[*store.Order]
)

func createOrder(c *gin.Context) {
	order := new(store.Order)
	if err := c.ShouldBindJSON(order); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	order.ID = known.Put(order)
	c.JSON(http.StatusCreated, gin.H{"id": order.ID, "total": order.Total()})
}

func saveBasket(c *gin.Context) {
	var basket store.Order
	if err := c.BindJSON(&basket); err != nil {
		return
	}
	c.JSON(http.StatusOK, gin.H{"baskets": baskets.Add(&basket)})
}

func loginWith(sessions *store.Sessions) gin.HandlerFunc {
	return func(c *gin.Context) {
		var login store.Login
		if err := c.ShouldBindJSON(&login); err != nil {
			c.AbortWithStatusJSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		c.JSON(http.StatusOK, gin.H{"token": sessions.Open(login.User)})
	}
}

func reviewsInto(index *search.Index) gin.HandlerFunc {
	return func(c *gin.Context) {
		var review store.Review
		if err := c.ShouldBindJSON(&review); err != nil {
			c.AbortWithStatusJSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		c.JSON(http.StatusOK, gin.H{"documents": index.Add(review.Text)})
	}
}

func uploadTo(uploads *store.History[[]byte]) gin.HandlerFunc {
	return func(c *gin.Context) {
		data, err := io.ReadAll(c.Request.Body)
		if err != nil {
			_ = c.AbortWithError(http.StatusBadRequest, err)
			return
		}
		c.JSON(http.StatusOK, gin.H{"uploads": uploads.Add(data)})
	}
}

type pictures struct{ cache store.Cache }

func (p *pictures) Get(c *gin.Context) {
	key := c.Param("id")
	data, found := p.cache.Get(key)
	if !found {
		seed, _ := strconv.Atoi(key)
		data = report.Thumbnail(seed, 200)
		p.cache.Put(key, data)
	}
	c.Data(http.StatusOK, "image/x-raw", data)
}

func timed() gin.HandlerFunc {
	return func(c *gin.Context) {
		start := time.Now()
		c.Next()
		c.Set("took", time.Since(start))
	}
}

func authRequired(c *gin.Context) {
	if !app.Authorized(c.GetHeader("Authorization")) {
		c.AbortWithStatus(http.StatusUnauthorized)
		return
	}
	c.Next()
}

func main() {
	known = store.NewTable[*store.Order](app.Keep("POST /api/orders"))
	baskets = store.NewHistory[*store.Order](app.Keep("POST /api/basket"))
	login := loginWith(store.NewSessions(app.Keep("POST /login")))
	review := reviewsInto(search.New(app.Keep("POST /api/reviews")))
	upload := uploadTo(store.NewHistory[[]byte](app.Keep("POST /api/uploads")))
	pics := &pictures{store.NewCache(app.Keep("GET /pictures/:id"))}

	gin.SetMode(gin.ReleaseMode)
	gin.DefaultWriter = io.Discard
	router := gin.Default() // with its logger and recovery
	router.Use(timed())
	router.POST("/login", login)
	router.GET("/pictures/:id", pics.Get)
	api := router.Group("/api", authRequired)
	{
		api.POST("/orders", createOrder)
		api.POST("/basket", saveBasket)
		api.POST("/reviews", review)
		api.POST("/uploads", upload)
	}
	listener, address := app.Listen()
	go func() { log.Fatal(router.RunListener(listener)) }()
	app.Run(address, []app.Call{
		{Endpoint: "POST /api/orders", Body: app.OrderBody(), Names: []any{createOrder}},
		{Endpoint: "POST /api/basket", Body: app.OrderBody(), Names: []any{saveBasket}},
		{Endpoint: "POST /login", Body: app.LoginBody(), Names: []any{login}},
		{Endpoint: "POST /api/reviews", Body: app.TextBody(), Names: []any{review}},
		{Endpoint: "POST /api/uploads", Body: app.EventsBody(), Names: []any{upload}},
		{Endpoint: "GET /pictures/:id", Path: "/pictures/%d", Names: []any{pics.Get}},
	})
}
