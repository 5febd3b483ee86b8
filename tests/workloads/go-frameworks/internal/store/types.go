// SPDX-License-Identifier: Apache-2.0

// Package store keeps a shop's data in memory. Everything in it holds at most `keep` entries, or all of them with 0.
package store

// Item is a line of an order.
type Item struct {
	SKU      string   `json:"sku"`
	Title    string   `json:"title"`
	Quantity int      `json:"quantity"`
	Price    float64  `json:"price"`
	Tags     []string `json:"tags"`
}

// Order is what a customer buys.
type Order struct {
	ID       string            `json:"id"`
	Customer string            `json:"customer" binding:"required"`
	Items    []Item            `json:"items"`
	Notes    map[string]string `json:"notes"`
}

// Total is the price of all items.
func (o *Order) Total() (sum float64) {
	for _, item := range o.Items {
		sum += item.Price * float64(item.Quantity)
	}
	return sum
}

// Review is a customer's text on a product.
type Review struct {
	Product string `json:"product"`
	Stars   int    `json:"stars"`
	Text    string `json:"text"`
}

// Event is something that happened in a browser.
type Event struct {
	Kind   string            `json:"kind"`
	Page   string            `json:"page"`
	Fields map[string]string `json:"fields"`
}

// Login is a user's name and password.
type Login struct {
	User     string `json:"user"`
	Password string `json:"password"`
}
